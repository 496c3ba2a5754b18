import type { BaseUrls } from '../kernel/base-urls.ts';

/** Where files are served, beside the API and without a credential. */
export const MEDIA_PATH = '/media';

/**
 * The public address of a file. Whoever knows it can fetch it, as with any `media_url`. [choice.media-url]
 */
export type MediaAddress = (id: string) => string;

export function createMediaAddress(baseUrls: () => BaseUrls): MediaAddress {
  return (id) => new URL(`${MEDIA_PATH}/${id}`, baseUrls().api).href;
}
