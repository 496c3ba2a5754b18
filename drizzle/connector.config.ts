import { defineConfig } from 'drizzle-kit';

export default defineConfig({
  dialect: 'postgresql',
  schema: 'src/connector/db/schema.ts',
  out: 'drizzle/connector',
  schemaFilter: ['connector'],
});
