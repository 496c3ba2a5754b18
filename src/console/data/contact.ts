/** The contact who writes first. */
export const CONTACT = '447700900201';
