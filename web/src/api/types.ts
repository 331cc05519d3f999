// The server's documents, named. All of them come out of the OpenAPI document (schema.d.ts, written by the build),
// but the operations', which follow below.
import type { components, paths } from './schema';

type Schemas = components['schemas'];
type Answer<P extends keyof paths> = paths[P] extends {
  get: { responses: { 200: { content: { 'application/json': infer T } } } };
}
  ? T
  : never;

export type Letter = Schemas['Letter'];
export type Issue = Schemas['Issue'];
export type Dlq = Schemas['Dlq'];
export type AuditLine = Schemas['AuditLine'];
export type Bytes = Schemas['Bytes'];
export type Story = Answer<'/api/v1/letters/{id}/story'>;
export type Worker = Answer<'/api/v1/workers/{name}'>;
export type Parked = Answer<'/api/v1/workers/{name}/parked'>['items'][number];
export type Explained = Answer<'/api/v1/explain'>;
export type Health = Answer<'/actuator/health'>;
export type Verdict = Answer<'/api/v1/audit:verify'>;

export interface Page<T> {
  items: T[];
  next: string | null;
  count: { value: number; exact: boolean };
}

export type OperationState =
  | 'planned'
  | 'awaiting_approval'
  | 'running'
  | 'paused'
  | 'halted'
  | 'done'
  | 'cancelled'
  | 'failed';
export type ItemResult = 'pending' | 'sent' | 'succeeded' | 'passed' | 'came_back' | 'unknown' | 'skipped';

export interface Operation {
  id: string;
  kind: 'replay' | 'discard' | 'restore' | 'purge';
  state: OperationState;
  version: number;
  dlqs: string[];
  selection: string;
  letters: number;
  dealt_with: number;
  results: Partial<Record<ItemResult, number>>;
  excluded: { why: string; count: number }[];
  to: { topic: string; group: string; letters: number }[];
  also_read_by: string[];
  order_conflicts: number;
  duplicates?: number;
  bytes: number;
  seconds: number;
  warnings: string[];
  previews?: { letter: string; before: string; after: string }[];
  rate?: number;
  canary?: number;
  halt?: { came_back?: number; of?: number };
  scope?: 'group' | 'topic';
  edit?: unknown;
  actor: string;
  reason: string;
  note: string;
  created_at: string;
  started_at: string | null;
  ended_at: string | null;
}

export interface OperationItem {
  position: number;
  letter: string | null;
  result: ItemResult;
  replays: number;
  note: string;
  to: { topic: string; partition: number; offset: number } | null;
  changed_at: string;
}
