import type { Locator, Page } from 'playwright-core';

const MOST_TABS = 120;

/** Presses Tab until the target has the focus. */
export async function tabTo(target: Locator): Promise<void> {
  await target.waitFor();
  const focused = target.and(target.page().locator(':focus'));
  for (let tabs = 0; tabs < MOST_TABS; tabs += 1) {
    if ((await focused.count()) === 1) return;
    await target.page().keyboard.press('Tab');
  }
  throw new Error(`${target} is not reached by ${MOST_TABS} times Tab`);
}

async function type(page: Page, text: string): Promise<void> {
  await page.keyboard.press('ControlOrMeta+a');
  await page.keyboard.insertText(text);
}

/** Operates a page with the keyboard only. */
export const KEYBOARD = {
  /** Activates a button or a link, once no other action disables it. */
  async press(target: Locator): Promise<void> {
    await tabTo(target);
    await target.and(target.page().locator(':not([aria-disabled=true])')).waitFor();
    await target.page().keyboard.press('Enter');
  },
  /** Goes to a field and replaces what it contains. */
  async write(field: Locator, text: string): Promise<void> {
    await tabTo(field);
    await type(field.page(), text);
  },
};
