import { sandbox } from './client.ts';

/** The contact who writes first. */
export const CONTACT = '447700900201';

export const writeAsContact = (connectionId: string, text: string) =>
  sandbox('POST', '/contacts/{phone}/messages', { params: { phone: CONTACT }, body: { connectionId, text } });
