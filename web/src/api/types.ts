// The server's documents, named. All of them come out of the OpenAPI document (schema.d.ts, written by the build).
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
export type Archive = Schemas['Archive'];
export type Bytes = Schemas['Bytes'];
export type Story = Answer<'/api/v1/letters/{id}/story'>;
export type Worker = Answer<'/api/v1/workers/{name}'>;
export type Parked = Answer<'/api/v1/workers/{name}/parked'>['items'][number];
export type Explained = Answer<'/api/v1/explain'>;
export type Health = Answer<'/actuator/health'>;
export type SelfChecks = Answer<'/api/v1/status'>;
export type ConfigLines = Answer<'/api/v1/config'>;
export type Suggestions = Answer<'/api/v1/suggest'>;
export type ApiKey = Answer<'/api/v1/keys'>['items'][number];
export type Session = Answer<'/api/v1/session'>;
export type Verdict = Answer<'/api/v1/audit:verify'>;

export interface Page<T> {
  items: T[];
  next: string | null;
  count: { value: number; exact: boolean };
}

export type Operation = Schemas['Operation'];
export type OperationItem = Schemas['OperationItem'];
export type OperationState = Operation['state'];
export type ItemResult = OperationItem['result'];
