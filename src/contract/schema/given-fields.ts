type Given<Fields> = { [Key in keyof Fields]: Exclude<Fields[Key], undefined> };

/** The fields that were given: one that is there and undefined is not. */
export function givenFields<Fields extends object>(fields: Fields): Given<Fields> {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given) as Given<Fields>;
}
