// A letter's value changed before it is sent again: the text on the left, what that changes on the right.
import { useSignal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import { visible } from '../app/format';
import { Dialog } from './dialog';
import { difference, parseTree, patchText, treeText, type PatchStep } from './lossless';

export function Steps({ steps }: { steps: PatchStep[] }) {
  return (
    <ul class="steps">
      {steps.map((step) => (
        <li key={step.path + step.op}>
          <code class="path">{visible(step.path || '/')}</code>
          {step.before !== undefined && <del>{visible(step.before).slice(0, 300)}</del>}
          {step.after !== undefined && <ins>{visible(step.after).slice(0, 300)}</ins>}
        </li>
      ))}
    </ul>
  );
}

export function EditAndReplay(props: {
  text: string;
  close: () => void;
  send: (patch: string, reason: string) => void;
}) {
  const before = useMemo(() => parseTree(props.text), [props.text]);
  const text = useSignal(before ? treeText(before) : props.text);
  const reason = useSignal('');
  const after = parseTree(text.value);
  const steps = before && after ? difference(before, after) : [];
  const why = !after ? 'this is not JSON' : steps.length === 0 ? 'nothing is changed yet' : null;
  return (
    <Dialog title="Edit and replay" close={props.close} wide>
      <form
        method="dialog"
        onSubmit={(event) => {
          event.preventDefault();
          if (why) return;
          props.close();
          props.send(patchText(steps), reason.value.trim());
        }}
      >
        <div class="edit">
          <label class="field">
            The value that will be sent
            <textarea
              value={text.value}
              spellcheck={false}
              rows={18}
              onInput={(e) => (text.value = e.currentTarget.value)}
            />
          </label>
          <div class="preview" role="status" aria-label="What changes">
            <h3>What changes</h3>
            {steps.length > 0 ? <Steps steps={steps} /> : <p class="note">{why}</p>}
            <p class="note">
              The letter keeps its bytes. Key and headers go as they were; every digit stays as written.
            </p>
          </div>
        </div>
        <label class="field">
          Reason, for the audit
          <input value={reason.value} maxLength={1000} onInput={(e) => (reason.value = e.currentTarget.value)} />
        </label>
        <div class="dialog-acts">
          <button type="submit" class="button main" aria-disabled={!!why} title={why ?? ''}>
            Replay as edited
          </button>
          <button type="button" class="button plain" onClick={props.close}>
            Leave it
          </button>
          {why && <span class="why">{why}</span>}
        </div>
      </form>
    </Dialog>
  );
}
