import express from 'express';
import { describe, expect, it } from 'vitest';
import { routeReference } from '../../src/runtime/page/reference.ts';
import { openPage } from '../support/chromium.ts';
import { listen } from '../support/listen.ts';
import { ofFile } from '../support/of-file.ts';
import { startTestService } from '../support/service.ts';

describe('the API reference at /docs', () => {
  const test = ofFile(startTestService);

  it('shows the service, carries out a call with the key of the sandbox, and loads nothing from elsewhere', async () => {
    const { sandboxUrl } = test.info;
    const { page, complaints } = await openPage('about:blank');
    const foreign: string[] = [];
    page.on('request', (request) => {
      if (!/^(?:data|blob):/.test(request.url()) && new URL(request.url()).origin !== sandboxUrl)
        foreign.push(request.url());
    });
    await page.goto(`${sandboxUrl}/docs`);
    await page.getByRole('heading', { name: 'Messaging service' }).waitFor();
    await page.getByText('/account', { exact: true }).click();
    await page.getByRole('button', { name: 'Try it out' }).click();
    await page.getByRole('button', { name: 'Execute' }).click();
    await page.getByText('"slots"').first().waitFor();
    await page.getByRole('link', { name: 'Sandbox', exact: true }).click();
    await page.getByRole('heading', { name: 'Messaging sandbox' }).waitFor();
    expect(await page.getByRole('link', { name: 'Connector', exact: true }).count()).toBe(0);
    expect(foreign).toEqual([]);
    expect(complaints).toEqual([]);
  });

  it('says where the document is if the library is not installed', async () => {
    const document = { name: 'connector', title: 'Messaging connector', path: '/v1/openapi.json' };
    const server = await listen(express().use(routeReference(() => [document], null)));
    const answer = await fetch(`http://127.0.0.1:${server.port}/docs`);
    expect(answer.status).toBe(404);
    expect(await answer.text()).toContain('<a href="/v1/openapi.json">/v1/openapi.json</a>');
    await server.drain();
  });
});
