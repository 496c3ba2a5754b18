import { variants } from '../../patterns/phone-variants.ts';

/** An address as the network writes it. Of a number that is written with spaces and signs, only the digits remain. */
export function readContact(contact: string): string {
  // The id of a group may be two numbers with a hyphen.
  return /^\+?[\d\s()./-]+$/.test(contact) && !/^\d+-\d+$/.test(contact)
    ? contact.replace(/\D/g, '')
    : contact;
}

/** Every address that a person may have, however the number is written. */
export const addressesOf = (contact: string): readonly string[] => variants(readContact(contact));
