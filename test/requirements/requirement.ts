/**
 * What is done about a sentence of the specification:
 * - `proven`: tests cite it.
 * - `not_modeled`: it is not implemented, and `reason` says why.
 */
export type RequirementKind = 'proven' | 'not_modeled';

/** One sentence of the specification, in our words. */
export interface Requirement<Id extends string = string> {
  readonly id: Id;
  /** Heading under which the specification says it. */
  readonly section: string;
  readonly rule: string;
  readonly kind: RequirementKind;
  /** Why it is not proven; absent when it is. */
  readonly reason?: string;
}

/** A sentence that no test proves, and why. */
interface Unproven {
  readonly rule: string;
  readonly kind: Exclude<RequirementKind, 'proven'>;
  readonly reason: string;
}

export function notModeled(rule: string, reason: string): Unproven {
  return { rule, kind: 'not_modeled', reason };
}

/** The sentences under one heading: id and rule of each. Tests must prove a plain rule. */
export function section<const Rules extends Readonly<Record<string, string | Unproven>>>(
  heading: string,
  rules: Rules,
): readonly Requirement<keyof Rules & string>[] {
  return Object.entries(rules).map(([id, said]) => {
    const rule: Omit<Requirement, 'id' | 'section'> =
      typeof said === 'string' ? { rule: said, kind: 'proven' } : said;
    return { id, section: heading, ...rule };
  });
}
