import { describe, expect, it } from 'vitest';
import { renderEnvExample, renderSettingsTable } from '../../../src/runtime/config/render-settings.ts';
import * as setting from '../../../src/runtime/config/setting.ts';

const definition = {
  APP_PORT: setting.integer({ description: 'Port', min: 0, max: 9, default: 4 }),
  APP_TOKEN: setting.secret({ description: 'Token a|b', unset: 'one is made' }),
};

describe('rendered settings', () => {
  it('make an example file in which everything is commented out', () => {
    expect(renderEnvExample(definition)).toBe(
      [
        '# Copy this file to .env in the working directory and remove the # before what you set. Variables of',
        '# the process win over this file. Of a secret, NAME_FILE may name a file that holds the value:',
        '# CONNECTOR_API_TOKEN_FILE=/run/secrets/token.',
        '',
        '# Port. It takes a whole number from 0 to 9. Not set: 4.',
        '#APP_PORT=4',
        '',
        '# Token a|b. It takes a secret that is not empty. Not set: one is made.',
        '#APP_TOKEN=',
        '',
      ].join('\n'),
    );
  });

  it('make a table for the documentation', () => {
    expect(renderSettingsTable(definition)).toBe(
      [
        '| name | meaning | takes | not set |',
        '|---|---|---|---|',
        '| `APP_PORT` | Port | a whole number from 0 to 9 | 4 |',
        '| `APP_TOKEN` | Token a\\|b | a secret that is not empty | one is made |',
        '',
      ].join('\n'),
    );
  });
});
