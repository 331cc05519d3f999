import { signal } from '@preact/signals';

export const cliLine = signal('bartleby issues ls');
