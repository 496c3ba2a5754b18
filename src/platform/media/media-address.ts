import type { BaseUrls } from '../kernel/base-urls.ts';

/** The path prefix of files. They are served outside of the API and without a credential. */
export const MEDIA_PATH = '/media';

/**
 * The public address of a file. It can be fetched without a credential, like any `media_url`. [choice.media-url]
 */
export type MediaAddress = (id: string) => string;

export function createMediaAddress(baseUrls: () => BaseUrls): MediaAddress {
  return (id) => new URL(`${MEDIA_PATH}/${id}`, baseUrls().api).href;
}
