import { AUTHENTICATION } from './requirements/authentication.ts';
import { CHOICES } from './requirements/choices.ts';
import { ENDPOINT_RULES } from './requirements/endpoint-rules.ts';
import { ENDPOINTS } from './requirements/endpoints.ts';
import { ERROR_CODES } from './requirements/errors.ts';
import { EVENTS } from './requirements/events.ts';
import { LIMITS } from './requirements/limits.ts';
import type { Requirement } from './requirements/requirement.ts';
import { RESOURCES } from './requirements/resources.ts';
import { SERVICE } from './requirements/service.ts';
import { STATES } from './requirements/states.ts';
import { VERSIONING } from './requirements/versioning.ts';

const all = [
  ...SERVICE,
  ...RESOURCES,
  ...STATES,
  ...ENDPOINTS,
  ...ENDPOINT_RULES,
  ...AUTHENTICATION,
  ...EVENTS,
  ...ERROR_CODES,
  ...LIMITS,
  ...VERSIONING,
  ...CHOICES,
] as const;

/** Id of a sentence of the specification, or of a choice of ours where it is silent. */
export type RequirementId = (typeof all)[number]['id'];

/** Every sentence of the specification in its order, then our choices. */
export const REQUIREMENTS: readonly Requirement<RequirementId>[] = all;
