/** A source file, split so that rules about code ignore comments and strings, and vice versa. */
export interface SourceParts {
  /** The code. Comments and the contents of quotes are blanked; positions and lines are unchanged. */
  readonly code: string;
  /** The contents of quotes and the fixed parts of templates, with their positions. */
  readonly texts: readonly { readonly text: string; readonly at: number }[];
}

/** A slash after one of these begins a regular expression. */
const BEFORE_REGEX =
  /(?:^|[(,=:[!&|?{};+\-*%^<>~]|\b(?:return|typeof|case|in|of|delete|void|throw|await|yield))\s*$/;

/** Splits TypeScript. A lexer, not a parser: it knows comments, strings, templates and regular expressions. */
export function splitSource(source: string): SourceParts {
  const code = source.split('');
  const texts: { text: string; at: number }[] = [];
  /** For each open template: how many braces are open in its current `${…}`. */
  const templates: number[] = [];
  let at = 0;

  const blank = (from: number, to: number): void => {
    for (let i = from; i < to; i++) if (code[i] !== '\n') code[i] = ' ';
  };
  const skipUntil = (end: string, from: number): number => {
    const found = source.indexOf(end, from);
    return found === -1 ? source.length : found;
  };
  const readString = (quote: string): void => {
    let end = at + 1;
    while (end < source.length && source[end] !== quote) end += source[end] === '\\' ? 2 : 1;
    texts.push({ text: source.slice(at + 1, end), at });
    blank(at + 1, end);
    at = end + 1;
  };
  /** From after a backtick or the brace that ends a placeholder to the next placeholder or the end. */
  const readTemplate = (): void => {
    const from = at;
    while (at < source.length && source[at] !== '`' && !source.startsWith('${', at))
      at += source[at] === '\\' ? 2 : 1;
    texts.push({ text: source.slice(from, at), at: from });
    blank(from, at);
    if (source[at] === '`') at += 1;
    else {
      templates.push(0);
      at += 2;
    }
  };
  const readRegex = (): void => {
    let end = at + 1;
    for (let inClass = false; end < source.length && (inClass || source[end] !== '/'); end++) {
      if (source[end] === '\\') end += 1;
      else if (source[end] === '[') inClass = true;
      else if (source[end] === ']') inClass = false;
    }
    blank(at + 1, end);
    at = end + 1;
  };
  const readBrace = (char: string): void => {
    const open = templates.at(-1);
    if (char === '}' && open === 0) {
      templates.pop();
      at += 1;
      readTemplate();
      return;
    }
    if (open !== undefined) templates[templates.length - 1] = open + (char === '{' ? 1 : -1);
    at += 1;
  };

  while (at < source.length) {
    const char = source[at] ?? '';
    if (source.startsWith('//', at)) {
      const end = skipUntil('\n', at);
      blank(at, end);
      at = end;
    } else if (source.startsWith('/*', at)) {
      const end = skipUntil('*/', at) + 2;
      blank(at, end);
      at = end;
    } else if (char === "'" || char === '"') readString(char);
    else if (char === '`') {
      at += 1;
      readTemplate();
    } else if (char === '{' || char === '}') readBrace(char);
    else if (char === '/' && BEFORE_REGEX.test(code.slice(Math.max(0, at - 20), at).join(''))) readRegex();
    else at += 1;
  }
  return { code: code.join(''), texts };
}

/** The line number of a position, from 1. */
export function lineAt(source: string, at: number): number {
  return source.slice(0, at).split('\n').length;
}
