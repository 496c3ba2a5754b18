const REGIONS = '[tabindex="-1"], section, form, article, main';

/** When the control that has the focus disappears, the region that it was in takes the focus over. */
export function keepFocus(): void {
  let path: readonly EventTarget[] = [];
  document.addEventListener('focusin', (event) => {
    path = event.composedPath();
  });
  new MutationObserver(() => {
    if (document.activeElement !== document.body) return;
    const left = path.find((each) => each instanceof HTMLElement && each.isConnected);
    if (left === path[0] || !(left instanceof HTMLElement)) return;
    const region = left.closest<HTMLElement>(REGIONS);
    if (region === null) return;
    region.tabIndex = -1;
    region.focus({ preventScroll: true });
  }).observe(document.body, { childList: true, subtree: true });
}
