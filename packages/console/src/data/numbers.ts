/** The digits of a number as people write it, such as `+44 7700 900201`; undefined for anything else. */
export function readNumber(text: string): string | undefined {
  return /^[+\d\s().-]*\d[\d\s().-]*$/.test(text) ? text.replace(/\D/g, '') : undefined;
}

/** False for a linked id or a group, which cannot be written to. */
export const isNumber = (peer: string): boolean => /^\d+$/.test(peer);

/** How a contact is shown. */
export const nameContact = (peer: string): string => (isNumber(peer) ? `+${peer}` : peer);
