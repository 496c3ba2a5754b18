import { ASSUMPTIONS } from '../../src/platform/kernel/assumptions.ts';
import type { Requirement } from './requirement.ts';

/** Heading of our choices where the specification is silent or ambiguous. */
export const CHOICES_HEADING = 'Our choice';

type ChoiceId = Extract<(typeof ASSUMPTIONS)[keyof typeof ASSUMPTIONS], { readonly id: string }>['id'];

/** The choices with an id, as requirements that tests prove. */
export const CHOICES: readonly Requirement<ChoiceId>[] = Object.values(ASSUMPTIONS).flatMap((choice) =>
  'id' in choice ? [{ id: choice.id, section: CHOICES_HEADING, rule: choice.rule, kind: 'proven' }] : [],
);
