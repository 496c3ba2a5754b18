import { describe, expect, it } from 'vitest';
import { renderEnvExample } from '../../../src/runtime/config/render-settings.ts';
import * as setting from '../../../src/runtime/config/setting.ts';

const definition = {
  APP_PORT: setting.integer({ description: 'Port', min: 0, max: 9, default: 4 }),
  APP_TOKEN: setting.secret({ description: 'Token a|b', unset: 'one is made' }),
};

describe('rendered settings', () => {
  it('form an example file with everything commented out', () => {
    expect(renderEnvExample({ 'First section': definition })).toBe(
      [
        '# Copy this file to .env in the working directory and uncomment the settings that you need.',
        '# Environment variables take precedence over this file. A secret can be read from a file: set',
        '# NAME_FILE instead of NAME, for example CONNECTOR_API_TOKEN_FILE=/run/secrets/token.',
        '',
        '# --- First section ---',
        '',
        '# Port. Must be an integer from 0 to 9. If unset: 4.',
        '#APP_PORT=4',
        '',
        '# Token a|b. Must be a non-empty secret. If unset: one is made.',
        '#APP_TOKEN=',
        '',
      ].join('\n'),
    );
  });
});
