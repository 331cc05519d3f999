// Light or dark: as the system says, or as somebody chose here.
import { signal } from '@preact/signals';

export type Theme = 'system' | 'light' | 'dark';
const stored = localStorage.getItem('theme');
export const theme = signal<Theme>(stored === 'light' || stored === 'dark' ? stored : 'system');

function apply() {
  if (theme.value === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme.value;
}

const system = matchMedia('(prefers-color-scheme: dark)');
const systemDark = signal(system.matches);
system.addEventListener('change', () => (systemDark.value = system.matches));

export function isDark(): boolean {
  return theme.value === 'system' ? systemDark.value : theme.value === 'dark';
}

export function toggleTheme() {
  theme.value = isDark() ? 'light' : 'dark';
  localStorage.setItem('theme', theme.value);
  apply();
}

apply();
