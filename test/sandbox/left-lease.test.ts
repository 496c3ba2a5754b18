import { expect, it } from 'vitest';
import { startTestService } from '../support/service.ts';

it('a start on data that another process serves is refused, and names its address', async () => {
  const first = await startTestService();
  const second = startTestService({ databaseUrl: first.databaseUrl });
  await expect(second).rejects.toThrow(
    `A process is already running on this data: ${first.info.sandboxUrl}/sandbox/v1/info`,
  );
  await first.close();
});
