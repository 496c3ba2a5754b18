/**
 * What is wrong with the layout of the open page, in words; runs in the browser. Nothing makes the page wider than the
 * window, no text or control overlaps another one, and none is cut without an ellipsis.
 */
export const LAYOUT_FACTS = `(() => {
  const found = [];
  const wide = document.documentElement.scrollWidth;
  if (wide > innerWidth) found.push('the page is ' + wide + ' wide');
  const words = (element) => {
    const name = element.className?.baseVal ?? element.className;
    const text = (element.textContent ?? '').trim().slice(0, 40);
    return element.tagName.toLowerCase() + (name ? '.' + String(name).split(' ').join('.') : '') + ' “' + text + '”';
  };
  const clips = (style) => /hidden|clip|auto|scroll/.test(style.overflowX + style.overflowY);
  /** What is visible of a rectangle within all that clips it; undefined if nothing is. */
  const visible = (rect, from) => {
    if (!from.checkVisibility({ opacityProperty: true, visibilityProperty: true })) return undefined;
    let { left, top, right, bottom } = rect;
    let fixed = false;
    for (let each = from; each !== null && each !== document.documentElement; each = each.parentElement) {
      const style = getComputedStyle(each);
      if (style.clipPath !== 'none') return undefined;
      if (fixed) continue;
      if (clips(style)) {
        const box = each.getBoundingClientRect();
        left = Math.max(left, box.left);
        right = Math.min(right, box.right);
        top = Math.max(top, box.top);
        bottom = Math.min(bottom, box.bottom);
      }
      fixed = style.position === 'fixed';
    }
    if (right > innerWidth + 1 || left < -1) found.push(words(from) + ' ends beyond the window');
    top = Math.max(top, 0);
    bottom = Math.min(bottom, innerHeight);
    return right - left > 1 && bottom - top > 1 ? { left, top, right, bottom } : undefined;
  };
  const parts = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    const element = node.parentElement;
    if (node.data.trim() === '' || element.closest('script, style, option, svg, [hidden]') !== null) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const rect of range.getClientRects()) {
      const seen = visible(rect, element);
      if (seen !== undefined) parts.push({ element, seen, rect });
      // What is cut at the right edge of a box that does not scroll has an ellipsis there.
      for (let each = element; seen !== undefined && each !== document.body; each = each.parentElement) {
        const style = getComputedStyle(each);
        if (!/hidden|clip/.test(style.overflowX)) continue;
        if (rect.right > each.getBoundingClientRect().right + 1 && style.textOverflow !== 'ellipsis' && style.webkitLineClamp === 'none')
          found.push(words(element) + ' is cut by ' + words(each));
        break;
      }
    }
  }
  for (const element of document.querySelectorAll('button, input, select, textarea, .lucide, img')) {
    const seen = visible(element.getBoundingClientRect(), element);
    if (seen !== undefined) parts.push({ element, seen });
  }
  const SLACK = 3;
  for (const [place, one] of parts.entries())
    for (const other of parts.slice(place + 1)) {
      // The sign in a field and its button are its own.
      if (other.element.matches('input, svg, .query-clear') && one.element.closest('.query-field') !== null) continue;
      if (one.element === other.element || one.element.contains(other.element) || other.element.contains(one.element)) continue;
      const across = Math.min(one.seen.right, other.seen.right) - Math.max(one.seen.left, other.seen.left);
      const down = Math.min(one.seen.bottom, other.seen.bottom) - Math.max(one.seen.top, other.seen.top);
      if (across > SLACK && down > SLACK) found.push(words(one.element) + ' overlaps ' + words(other.element));
    }
  return [...new Set(found)];
})()`;
