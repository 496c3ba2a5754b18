const SHORTEST = 4;

/** Knows every credential of a run, so that no report shows one. */
export interface SecretBook {
  /** Registers a value and its replacement. */
  add(value: string, name: string): void;
  /** The text without any of the values, in plain, URL and JSON spelling. */
  hide(text: string): string;
}

export function createSecretBook(): SecretBook {
  const names = new Map<string, string>();
  return {
    add(value, name) {
      if (value.length < SHORTEST) return;
      for (const spelling of [value, encodeURIComponent(value), JSON.stringify(value).slice(1, -1)]) {
        names.set(spelling, `<${name}>`);
      }
    },
    hide(text) {
      let safe = text;
      // Longest first: one secret may start with another.
      const known = [...names].sort(([a], [b]) => b.length - a.length);
      for (const [value, name] of known) safe = safe.replaceAll(value, name);
      return safe;
    },
  };
}
