// A question before something that matters. The browser's own dialog keeps the focus inside and gives it back.
import type { ComponentChildren } from 'preact';
import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';

export function Dialog(props: { title: string; close: () => void; children: ComponentChildren; wide?: boolean }) {
  const box = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    box.current?.showModal();
  }, []);
  return (
    <dialog
      ref={box}
      class={props.wide ? 'wide' : ''}
      aria-labelledby="dialog-title"
      onClose={props.close}
      onClick={(event) => event.target === box.current && box.current?.close()}
    >
      <div class="dialog-inside">
        <h2 id="dialog-title">{props.title}</h2>
        {props.children}
      </div>
    </dialog>
  );
}

// Says what happens and to how many. `typed`: a word that must be typed, for what cannot be undone.
export function Ask(props: {
  title: string;
  children: ComponentChildren;
  verb: string;
  danger?: boolean;
  typed?: string;
  reason?: boolean;
  close: () => void;
  run: (reason: string) => void;
}) {
  const reason = useSignal('');
  const word = useSignal('');
  const tooLong = new TextEncoder().encode(reason.value.trim()).length > 1000;
  const ready = (!props.typed || word.value === props.typed) && !tooLong;
  return (
    <Dialog title={props.title} close={props.close}>
      <form
        method="dialog"
        onSubmit={(event) => {
          event.preventDefault();
          if (!ready) return;
          props.run(reason.value.trim()); // before it closes: what it is about may go with it
          props.close();
        }}
      >
        {props.children}
        {props.reason !== false && (
          <label class="field">
            Reason, for the audit
            <input
              value={reason.value}
              onInput={(e) => (reason.value = e.currentTarget.value)}
              aria-invalid={tooLong}
            />
            {tooLong && <span role="alert">A reason has at most 1,000 bytes.</span>}
          </label>
        )}
        {props.typed && (
          <label class="field">
            <span>
              Type <code>{props.typed}</code>: this cannot be undone
            </span>
            <input value={word.value} onInput={(e) => (word.value = e.currentTarget.value)} autocomplete="off" />
          </label>
        )}
        <div class="dialog-acts">
          <button type="submit" class={`button ${props.danger ? 'danger' : 'main'}`} aria-disabled={!ready}>
            {props.verb}
          </button>
          <button type="button" class="button plain" onClick={props.close}>
            Leave it
          </button>
        </div>
      </form>
    </Dialog>
  );
}
