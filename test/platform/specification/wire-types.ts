import { expect } from 'vitest';

/*
 * Types of the specification's tables as matchers, written from its words. The contract's schemas are not used:
 * with a shared mistake both would be wrong together.
 */

export const anId = expect.stringMatching(/^c[a-z0-9]{20,31}$/);
export const aDateTime = expect.stringMatching(
  /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/,
);
export const aUri = expect.stringMatching(/^https?:\/\/[^\s]+$/);
export const aPicture = expect.stringMatching(/^data:image\/png;base64,iVBORw0KGgo[A-Za-z0-9+/]+=*$/);
export const aString = expect.any(String);
