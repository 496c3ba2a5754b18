import * as conditions from './conditions.ts';
import { defineEndpoints } from './sandbox-endpoint.ts';

/** What a test asks: whether something happens in time, and whether what happened is what it expects. */
export const CONDITION_ENDPOINTS = defineEndpoints({
  wait: {
    method: 'POST',
    path: '/wait',
    summary:
      'Waits until enough entries of a list match a filter. If they do not in time, the response says what there is instead.',
    body: { schema: conditions.waitRequest, required: true },
    answers: [
      { status: 200, description: 'Met, or not met in time: see `holds`.', schema: conditions.waited },
    ],
  },
  verify: {
    method: 'POST',
    path: '/verify',
    summary:
      'Compares a list with what is expected: these entries, by default in this order and possibly with others between them. Does not wait.',
    body: { schema: conditions.verifyRequest, required: true },
    answers: [{ status: 200, description: 'The differences.', schema: conditions.verified }],
  },
});
