// How a worker is, in a word and a sentence; null: well.
import type { Worker } from '../api/types';

export function workerTrouble(worker: Worker): { word: string; why: string } | null {
  if (worker.state === 'unreachable') return { word: 'unreachable', why: worker.trouble ?? 'it does not answer' };
  if (worker.trouble) return { word: 'failed', why: worker.trouble };
  if (worker.guard_open)
    return { word: 'guard open', why: 'most attempts fail alike: it probes now and then, and no attempt is counted' };
  if (worker.state === 'paused') return { word: 'paused', why: 'somebody paused it: no new attempts start' };
  if (worker.state === 'stopped') return { word: 'stopped', why: 'it has stopped' };
  return null;
}
