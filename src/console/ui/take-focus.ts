/** As a `ref`: the first control of an element gets the focus once that is drawn. */
export function takeFocus(element: HTMLElement | null): void {
  element?.querySelector<HTMLElement>('button, input')?.focus();
}
