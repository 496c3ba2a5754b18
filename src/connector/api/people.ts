import { StoreFailure } from '../media/media-store.ts';
import { SendInProgress } from '../outbox/erase-sends.ts';
import { erasePerson, NoMediaStore } from '../people/erase-person.ts';
import { ApiError, invalid } from './api-error.ts';
import type { ApiParts, Operation } from './operations.ts';

/** `DELETE /v1/people/{id}`. */
export function deletePerson({ database, clock, mediaStore, feed }: ApiParts): Operation<'erasePerson'> {
  return async ({ id }) => {
    // A number that is written in another way would erase nothing, and the caller would not notice.
    if (!/^[\w.@-]+$/.test(id))
      throw invalid('id', 'must be as `peer` is shown: international digits without `+`');
    try {
      const erased = await erasePerson({ database, mediaStore }, id, clock.now());
      feed.notify();
      return erased;
    } catch (error) {
      if (error instanceof SendInProgress)
        throw new ApiError(
          'send_in_progress',
          'A send to this person is in progress. Try again in a minute.',
        );
      if (error instanceof NoMediaStore)
        throw new ApiError(
          'media_store_off',
          'Files of this person are kept, and `MEDIA_STORE` is not set, so they cannot be removed.',
        );
      if (error instanceof StoreFailure)
        throw new ApiError(
          'media_store_unreachable',
          'The files of this person could not be removed, so nothing was erased. Try again.',
        );
      throw error;
    }
  };
}
