// A table: real rows and cells, only those near the window in the document. TanStack's cores know columns, sorting,
// selection and which rows are near; the markup is ours. The row with the focus stays in the document, wherever the
// window goes.
import {
  createTable,
  getCoreRowModel,
  getSortedRowModel,
  type ColumnDef,
  type SortingState,
  type Table,
  type TableState,
} from '@tanstack/table-core';
import {
  defaultRangeExtractor,
  observeWindowOffset,
  observeWindowRect,
  Virtualizer,
  windowScroll,
  type Range,
} from '@tanstack/virtual-core';
import { useSignal, type Signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import { useKeys } from '../app/keys';

export interface Column<T> {
  id: string;
  head: string;
  cell: (row: T, place: { href: string }) => ComponentChildren;
  of?: (row: T) => string | number; // what to sort by
  hide?: 'narrow' | 'medium'; // below which width it is left out
  kind?: 'number' | 'grow' | 'mark' | 'wide';
}

interface Props<T> {
  label: string;
  rows: T[];
  columns: Column<T>[];
  id: (row: T) => string;
  href: (row: T) => string;
  name: (row: T) => string; // of a row, where it has a box to tick
  selected?: Signal<ReadonlySet<string>>;
  total?: number;
  near?: () => void; // the end of the rows comes near
}

const ROW = 36;
const AHEAD = 250; // rows before the end at which more are asked for: they come before somebody is there

function useWindow(count: number, top: () => number, pinned: Signal<number>) {
  const version = useSignal(0);
  const windowed = useMemo(
    () =>
      new Virtualizer<Window, Element>({
        count: 0,
        getScrollElement: () => window,
        estimateSize: () => ROW,
        overscan: 15,
        scrollPaddingStart: 150, // the frame's bars lie over the rows
        scrollPaddingEnd: 60,
        observeElementRect: observeWindowRect,
        observeElementOffset: observeWindowOffset,
        scrollToFn: windowScroll,
        initialRect: { width: innerWidth, height: innerHeight },
        onChange: () => (version.value += 1),
      }),
    [],
  );
  windowed.setOptions({
    ...windowed.options,
    count,
    scrollMargin: top(),
    rangeExtractor: (range: Range) => {
      const near = defaultRangeExtractor(range);
      const pin = pinned.peek();
      return pin < 0 || pin >= count || near.includes(pin) ? near : [...near, pin].sort((a, b) => a - b);
    },
  });
  useEffect(() => windowed._didMount(), []);
  useLayoutEffect(() => windowed._willUpdate());
  void version.value; // this component is drawn again when the window moves
  return windowed;
}

function useTable<T>(props: Props<T>, data: T[], sorting: Signal<SortingState>): Table<T> {
  const columns = useMemo<ColumnDef<T>[]>(
    () =>
      props.columns.map((column) => ({
        id: column.id,
        header: column.head,
        enableSorting: !!column.of,
        ...(column.of ? { accessorFn: column.of } : {}),
      })),
    [props.columns],
  );
  const table = useMemo(
    () =>
      createTable<T>({
        data: [],
        columns,
        state: {},
        renderFallbackValue: null,
        onStateChange: () => undefined,
        getCoreRowModel: getCoreRowModel(),
        getSortedRowModel: getSortedRowModel(),
        getRowId: (row) => props.id(row),
      }),
    [],
  );
  table.setOptions((before) => ({
    ...before,
    data,
    columns,
    state: { ...table.initialState, sorting: sorting.value } as TableState,
    onSortingChange: (change) => {
      sorting.value = typeof change === 'function' ? change(sorting.value) : change;
    },
  }));
  return table;
}

// Where the rows begin on the page; what is above them may have grown since the last look.
function top(table: HTMLTableElement | null): number {
  return table ? Math.round(table.tBodies[0]!.getBoundingClientRect().top + scrollY) : 0;
}

export function DataTable<T>(props: Props<T>) {
  const { columns, selected } = props;
  const sorting = useSignal<SortingState>([]);
  const active = useSignal(-1);
  const lastTicked = useSignal(-1);
  const box = useRef<HTMLTableElement>(null);
  const sortable = columns.some((column) => column.of);
  // A list that can be sorted is all here; a long one comes sorted and is cut to its window first.
  const table = useTable(props, sortable ? props.rows : [], sorting);
  const rows = sortable ? table.getRowModel().rows.map((row) => row.original) : props.rows;
  const windowed = useWindow(rows.length, () => top(box.current), active);
  const items = windowed.getVirtualItems();

  const last = items.at(-1)?.index ?? 0;
  useEffect(() => {
    if (props.near && last >= rows.length - Math.min(AHEAD, rows.length / 2)) props.near();
  }, [last, rows.length]);

  const focusRow = (index: number) => {
    if (rows.length === 0) return;
    const to = Math.max(0, Math.min(rows.length - 1, index));
    active.value = to;
    windowed.scrollToIndex(to, { align: 'auto' });
    const find = (tries: number) => {
      const link = box.current?.querySelector<HTMLElement>(`[data-row="${to}"] a`);
      if (link) link.focus({ preventScroll: true });
      else if (tries > 0) requestAnimationFrame(() => find(tries - 1));
    };
    find(10);
  };
  const tick = (index: number, range: boolean) => {
    if (!selected) return;
    const row = rows[index];
    if (!row) return;
    const next = new Set(selected.value);
    const add = !next.has(props.id(row));
    const from = range && lastTicked.value >= 0 ? lastTicked.value : index;
    for (let i = Math.min(from, index); i <= Math.max(from, index); ++i) {
      const id = props.id(rows[i]!);
      if (add) next.add(id);
      else next.delete(id);
    }
    lastTicked.value = index;
    selected.value = next;
  };
  useKeys(
    [
      { key: 'j', does: 'next row', run: () => focusRow(active.value + 1) },
      { key: 'k', does: 'row before', run: () => focusRow(active.value - 1) },
      ...(selected
        ? [
            { key: 'x', does: 'select the row', run: () => tick(active.value, false) },
            { key: 'X', does: 'select up to the row', run: () => tick(active.value, true) },
          ]
        : []),
    ],
    [rows],
  );

  const width = columns.length + (selected ? 1 : 0);
  const hidden = (column: Column<T>) => `${column.hide ? `hide-${column.hide}` : ''} ${column.kind ?? ''}`;
  const allTicked = !!selected && rows.length > 0 && rows.every((row) => selected.value.has(props.id(row)));
  const gap = (height: number, key: string) => (
    <tr key={key} class="gap" aria-hidden="true">
      <td colSpan={width} style={{ height: `${height}px` }} />
    </tr>
  );
  const first = windowed.options.scrollMargin;
  const body: ComponentChildren[] = [];
  let end = 0;
  for (const item of items) {
    const row = rows[item.index];
    if (!row) continue;
    const start = item.start - first;
    if (start > end) body.push(gap(start - end, `gap-${item.index}`));
    end = start + ROW;
    const id = props.id(row);
    const href = props.href(row);
    const ticked = selected?.value.has(id) ?? false;
    body.push(
      <tr
        key={id}
        data-row={item.index}
        aria-rowindex={item.index + 2}
        class={ticked ? 'ticked' : ''}
        aria-selected={selected ? ticked : undefined}
        onFocusIn={() => (active.value = item.index)}
      >
        {selected && (
          <td class="tick">
            <input
              type="checkbox"
              checked={ticked}
              aria-label={`Select ${props.name(row)}`}
              onClick={(event) => {
                tick(item.index, event.shiftKey);
              }}
            />
          </td>
        )}
        {columns.map((column) => (
          <td key={column.id} class={hidden(column)}>
            {column.cell(row, { href })}
          </td>
        ))}
      </tr>,
    );
  }
  const rest = rows.length * ROW - end;
  if (rest > 0) body.push(gap(rest, 'gap-end'));

  return (
    <table class="data" ref={box} aria-label={props.label} aria-rowcount={(props.total ?? rows.length) + 1}>
      <thead>
        <tr>
          {selected && (
            <th scope="col" class="tick">
              <input
                type="checkbox"
                checked={allTicked}
                aria-label="Select all rows that are loaded"
                onClick={() => (selected.value = allTicked ? new Set() : new Set(rows.map(props.id)))}
              />
            </th>
          )}
          {columns.map((column) => {
            const sorted = sorting.value.find((one) => one.id === column.id);
            return (
              <th
                key={column.id}
                scope="col"
                class={hidden(column)}
                {...(sorted ? { 'aria-sort': sorted.desc ? ('descending' as const) : ('ascending' as const) } : {})}
              >
                {column.of ? (
                  <button type="button" onClick={() => table.getColumn(column.id)?.toggleSorting()}>
                    {column.head}
                    <span aria-hidden="true">{sorted ? (sorted.desc ? ' ↓' : ' ↑') : ''}</span>
                  </button>
                ) : (
                  column.head
                )}
              </th>
            );
          })}
        </tr>
      </thead>
      <tbody>{body}</tbody>
    </table>
  );
}
