/** As a `ref`: the first control of an element gets the focus once that is drawn. */
export function takeFocus(element: HTMLElement | null): void {
  element?.querySelector<HTMLElement>('button, input')?.focus();
}

/** Goes to a field, whose text the next key replaces. Not every browser focuses what it selects. */
export function enter(field: HTMLInputElement | null): void {
  field?.focus();
  field?.select();
}
