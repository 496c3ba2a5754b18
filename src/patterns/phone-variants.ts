/**
 * The rule: some people have a number with two spellings, and the network uses either. Both are the same person.
 *
 * - Brazil: a mobile number got a 9 before its eight digits. They begin with 6 to 9. Eight digits that begin with
 *   2 to 5 are a landline, and with a 9 before them they may be the mobile number of another person.
 * - Argentina: a mobile number has a 9 after 54 when it is called from abroad.
 * - Mexico: until 2019, a mobile number had a 1 after 52.
 *
 * Numbers are international digits without `+`, as on the wire. Anything else, such as the id of a group or one that
 * ends in `@lid`, is equal only to itself. Send to the number as it was received, not to another spelling.
 *
 * The mistake that this prevents: numbers are compared as texts, and a person who answers becomes a second contact; or
 * a 9 is added to every Brazilian number, and a landline becomes the mobile number of another person.
 */

/** Before and after the digit that one spelling has and the other lacks. */
const SPELLINGS = [
  // Area codes of Brazil have two digits, none of them 0.
  { digit: '9', parts: /^(55[1-9][1-9])9?([6-9][0-9]{7})$/ },
  // Ten digits with the area code, which begins with 1, 2 or 3.
  { digit: '9', parts: /^(54)9?([1-3][0-9]{9})$/ },
  // Ten digits with the area code, which begins with neither 0 nor 1.
  { digit: '1', parts: /^(52)1?([2-9][0-9]{9})$/ },
] as const;

/** All spellings of a number, its own included, the shortest first. Any text may be passed. Never throws. */
export function variants(phone: string): readonly string[] {
  for (const { digit, parts } of SPELLINGS) {
    const [, before, after] = parts.exec(phone) ?? [];
    if (before !== undefined) return [`${before}${after}`, `${before}${digit}${after}`];
  }
  return [phone];
}

/**
 * A key that is the same for all spellings of a number: its smallest variant. Compare it, and do not show it or send
 * to it. A later version may know more spellings: then a key changes, so store the number as well.
 */
export function personKey(phone: string): string {
  return variants(phone)[0] ?? phone;
}
