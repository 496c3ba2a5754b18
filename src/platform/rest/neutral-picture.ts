/** Path of the picture, which is served outside of the API and without a credential. */
export const NEUTRAL_PICTURE_PATH = '/pictures/neutral.svg';

/** A head and shoulders, for numbers without a picture. [choice.picture.neutral] */
export const NEUTRAL_PICTURE =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 96 96" width="96" height="96">' +
  '<rect width="96" height="96" fill="#d7dbe0"/><circle cx="48" cy="38" r="17" fill="#8b949e"/>' +
  '<path d="M14 96c0-22 15-34 34-34s34 12 34 34z" fill="#8b949e"/></svg>';
