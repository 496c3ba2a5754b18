/** Shows a number of problems in the icon of the page; without any, the icon as it is. */
export function showIcon(problems: number): void {
  const link = document.querySelector<HTMLLinkElement>('link[rel="icon"]');
  if (link === null) return;
  const words = problems > 9 ? '9+' : problems;
  const picture = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#b5261d"/><text x="16" y="24" fill="#fff" text-anchor="middle" font-family="sans-serif" font-size="22" font-weight="700">${words}</text></svg>`;
  link.href = problems === 0 ? '/icon.svg' : `data:image/svg+xml,${encodeURIComponent(picture)}`;
}
