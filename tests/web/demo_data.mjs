// An office in the middle of a working day: what screenshots and the tests of accessibility look at.
import { Bartleby, Endpoint, letterRecord, until, worker } from './support.mjs';

const money = ['EUR', 'USD', 'GBP'];

function wrongOf({ worker: name, key, replay, value }) {
  const n = Number(key.replace(/\D/g, '')) || 0;
  if (name === 'payouts') {
    if (replay && n % 5 !== 0) return null;
    if (n % 3 === 0)
      return {
        status: 422,
        type: 'BankRefusedException',
        title: 'the bank refused',
        detail: `account of deal ${key} is closed`,
        stack: 'at bank.transfer (bank.ts:88)\nat payouts.run (payouts.ts:31)',
      };
    return n % 2 === 0
      ? {
          status: 504,
          type: 'BankTimeoutException',
          title: 'no answer from the bank',
          detail: `after ${30 + (n % 7)} s`,
          stack: 'at bank.transfer (bank.ts:61)\nat payouts.run (payouts.ts:31)',
        }
      : null;
  }
  if (name === 'orders' && n % 4 === 0 && !replay)
    return {
      status: 422,
      type: 'InvalidEnum',
      title: 'unknown status',
      detail: `"status" must be one of paid, open: line ${n}`,
    };
  if (name === 'emails' && n % 3 === 0)
    return {
      status: 503,
      type: 'SmtpUnavailable',
      title: 'mail server is away',
      detail: 'connect ECONNREFUSED 10.0.3.7:25',
    };
  if (name === 'search' && value.includes('"lang":"xx"'))
    return { status: 400, type: 'MappingError', title: 'field lang', detail: 'unknown language xx' };
  return null;
}

export async function startDemo(program, options = []) {
  const endpoint = await new Endpoint(wrongOf).start();
  const quick = { retry: { max_attempts: 3, schedule: ['20ms', '60ms'] } };
  const bartleby = new Bartleby(
    program,
    {
      cluster_id: 'prod-eu',
      workers: {
        payouts: worker('payout.commands', endpoint.url, quick),
        orders: worker('orders', endpoint.url, quick),
        search: worker('catalogue', endpoint.url, quick),
        emails: worker('emails', endpoint.url, { retry: { max_attempts: 6, schedule: ['4m', '15m'] } }),
      },
    },
    options,
  );
  await bartleby.start();
  return { bartleby, endpoint };
}

export async function fillDemo(bartleby, size = 1) {
  const many = (count, make) => Array.from({ length: count }, (_, i) => make(i));
  const json = (value) => JSON.stringify(value);
  await bartleby.sendAll(
    'payout.commands',
    many(48 * size, (i) => ({
      key: `deal_${5500 + i}`,
      value: json({
        event_type: 'EXECUTE_PAYOUT',
        deal_id: `deal_${5500 + i}`,
        amount_nano: 9007199254740993,
        currency: money[i % 3],
        to: { iban: `DE8937040044053201${3000 + i}`, name: 'Example Trading Ltd' },
        attempts: [],
        urgent: i % 2 === 0,
      }).replace('9007199254740992', '9007199254740993'),
      headers: [
        ['trace', `4bf92f3577b34da6a3ce929d0e0e${1000 + i}`],
        ['source', 'deals-api'],
      ],
    })),
  );
  await bartleby.sendAll(
    'orders',
    many(60 * size, (i) => ({
      key: `customer-${i % 40}-${i}`,
      value: json({ order: 71000 + i, status: i % 4 === 0 ? 'PAYED' : 'paid', lines: [{ sku: 'A-17', n: 2 }] }),
    })),
  );
  await bartleby.sendAll(
    'catalogue',
    many(30 * size, (i) => ({
      key: `sku-${i}`,
      value: json({ sku: `A-${i}`, lang: i % 9 === 0 ? 'xx' : 'en', title: 'Ginger nuts' }),
    })),
  );
  await bartleby.sendAll(
    'emails',
    many(24, (i) => ({ key: `user-${i}`, value: json({ to: `user-${i}@example.org`, template: 'receipt' }) })),
  );
  await bartleby.untilLetters(16 * size, 'error:BankRefusedException');
  await bartleby.untilLetters(16 * size, 'error:BankTimeoutException header.source:deals-api');
  await bartleby.untilLetters(15 * size, 'worker:orders');
  await bartleby.untilLetters(4, 'worker:search');
  await until('parked messages', async () => (await bartleby.get('/api/v1/workers/emails')).parked >= 6);
}

const HOUR = 3600000;

// What died during the last day, so that trends have a shape.
export async function fillHistory(bartleby) {
  const stories = [
    {
      topic: 'payout.commands',
      worker: 'payouts',
      type: 'BankTimeoutException',
      message: 'no answer from the bank: after 31 s',
      stack: 'at bank.transfer (bank.ts:61)\nat payouts.run (payouts.ts:31)',
      kind: 'timeout',
      hours: [1, 2, 2, 3, 5, 9, 4, 2],
    },
    {
      topic: 'invoices',
      worker: 'invoices',
      type: 'TemplateMissing',
      message: 'no template for locale pt-BR',
      kind: 'permanent',
      reason: 'REJECTED',
      hours: [23, 21, 20, 20, 18, 16, 12, 11, 7, 3],
    },
    {
      topic: 'webhooks',
      worker: 'webhooks',
      type: 'TlsHandshakeError',
      message: 'certificate of hooks.example.org has expired',
      kind: 'unavailable',
      hours: [14, 14, 13, 13, 13, 12, 12, 12, 11, 11, 10, 9, 9, 8, 8, 7, 6, 6, 5, 5, 4, 4, 3, 2, 1, 1],
    },
  ];
  for (const { hours, topic, ...story } of stories)
    await bartleby.sendAll(
      `${topic}.dlq`,
      hours.map((hour, i) =>
        letterRecord({
          ...story,
          topic,
          key: `${story.worker}-${i}`,
          value: JSON.stringify({ n: i, locale: 'pt-BR' }),
          at: Date.now() - hour * HOUR + i * 1000,
        }),
      ),
    );
  await bartleby.untilLetters(stories.reduce((sum, one) => sum + one.hours.length, 0));
}

// A plan, a replay that went well, and one that halted.
export async function operateDemo(bartleby) {
  const plan = async (name, q, more = {}) => {
    const { id } = await bartleby.call('POST', '/api/v1/operations', { kind: 'replay', q, ...more });
    return { name, id };
  };
  const finish = async (one) => {
    await bartleby.call('POST', `/api/v1/operations/${one.id}:start`, {});
    await until('the operation to end', async () => {
      const { state } = await bartleby.get(`/api/v1/operations/${one.id}`);
      return state === 'done' || state === 'halted';
    });
    return one;
  };
  const done = await finish(
    await plan('operation-done', 'worker:orders state:open', { reason: 'the enum has PAYED now' }),
  );
  const halted = await finish(
    await plan('operation-halted', 'worker:payouts error:BankRefusedException state:open', {
      reason: 'the bank is back',
      halt: { came_back: 5, of: 10 },
    }),
  );
  const planned = await plan('operation-planned', 'worker:payouts error:BankTimeoutException state:open');
  return [planned, done, halted];
}
