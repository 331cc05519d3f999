// The way in: which page a path shows.
import { render } from 'preact';
import { useEffect } from 'preact/hooks';
import { start as startKeys } from './app/keys';
import { start as startLive } from './app/live';
import { here, onPage, start as startUrl } from './app/url';
import { Empty } from './parts/bits';
import { Frame } from './parts/frame';
import { Activity } from './pages/activity';
import { Dlqs } from './pages/dlqs';
import { Inbox } from './pages/inbox';
import { Issue } from './pages/issue';
import { Letter } from './pages/letter';
import { Letters } from './pages/letters';
import { Operation } from './pages/operation';
import { Operations } from './pages/operations';
import { Status } from './pages/status';
import { Worker } from './pages/worker';
import { Workers } from './pages/workers';

function page(path: string) {
  const [, folder = '', thing] = path.split('/');
  const id = thing === undefined ? '' : decodeURIComponent(thing);
  switch (folder) {
    case '':
      return <Inbox />;
    case 'letters':
      return id ? <Letter key={id} id={id} /> : <Letters />;
    case 'issues':
      return id ? <Issue key={id} id={id} /> : <Inbox />;
    case 'operations':
      return id ? <Operation key={id} id={id} /> : <Operations />;
    case 'workers':
      return id ? <Worker key={id} name={id} /> : <Workers />;
    case 'dlqs':
      return <Dlqs />;
    case 'activity':
      return <Activity />;
    case 'status':
      return <Status />;
    default:
      return (
        <Empty title="There is no such page.">
          <p>
            <a href="/">To the inbox</a>
          </p>
        </Empty>
      );
  }
}

function App() {
  const { path } = here.value;
  useEffect(() => {
    onPage(() => {
      requestAnimationFrame(() => {
        scrollTo(0, 0);
        document.querySelector<HTMLElement>('main h1')?.focus({ preventScroll: true });
        document.querySelector('nav [aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
      });
    });
  }, []);
  return <Frame>{page(path)}</Frame>;
}

startUrl();
startKeys();
startLive();
render(<App />, document.getElementById('app')!);
