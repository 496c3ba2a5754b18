import type { SettingsDefinition } from '../../src/runtime/config/read-settings.ts';
import type { Setting } from '../../src/runtime/config/setting.ts';

const LINE = 100;

/** Breaks a text into comment lines of at most 100 characters. */
function comment(text: string): string {
  const lines: string[] = [];
  let line = '#';
  for (const word of text.split(' ')) {
    if (line.length + 1 + word.length > LINE) {
      lines.push(line);
      line = '#';
    }
    line += ` ${word}`;
  }
  return [...lines, line].join('\n');
}

function describe(setting: Setting<unknown>): string {
  const make = setting.make === '' ? '' : ` ${setting.make}.`;
  return `${setting.description}. Must be ${setting.allowed}.${make} If unset: ${setting.unset}.`;
}

/**
 * The text of `.env.example`: every setting with its description, allowed values and default, commented out,
 * so that a copy of the file changes nothing. `sections` has their titles.
 */
export function renderEnvExample(sections: Readonly<Record<string, SettingsDefinition>>): string {
  const title = comment(
    'Copy this file to .env in the working directory and uncomment the settings that you need. ' +
      'Environment variables take precedence over this file. A secret can be read from a file: set NAME_FILE instead of NAME, for example CONNECTOR_API_TOKEN_FILE=/run/secrets/token.',
  );
  const entries = Object.entries(sections).flatMap(([section, definition]) => [
    `# --- ${section} ---`,
    ...Object.entries(definition).map(
      ([name, setting]) => `${comment(describe(setting))}\n#${name}=${setting.example}`,
    ),
  ]);
  return `${[title, ...entries].join('\n\n')}\n`;
}
