/**
 * Copies a text. A browser has a clipboard only over HTTPS and on this machine; elsewhere, what is selected is copied.
 * Rejects if the browser refuses both.
 */
export async function copyText(text: string): Promise<void> {
  const clipboard = (navigator as { readonly clipboard?: Clipboard }).clipboard;
  if (clipboard !== undefined) return await clipboard.writeText(text);
  const area = document.createElement('textarea');
  area.value = text;
  document.body.append(area);
  area.select();
  const isCopied = document.execCommand('copy');
  area.remove();
  if (!isCopied) throw new Error('The browser did not copy it.');
}
