/** Runs calls of the packed node with the engine of n8n, which is installed where this file is copied. */
const { ExecuteContext, PackageDirectoryLoader, RoutingNode } = require('n8n-core');
const { Workflow } = require('n8n-workflow');

async function run({ folder, url, token, calls }) {
  const loader = new PackageDirectoryLoader(folder);
  await loader.loadAll();
  const { type } = loader.getNode('messagingConnector');
  const nodeTypes = { getByNameAndVersion: () => type };
  const { headers } = loader.getCredential('messagingConnectorApi').type.authenticate.properties;
  const authorization = headers.Authorization.slice(1).replace('{{$credentials.token}}', token);
  // The store of credentials belongs to n8n itself.
  const credentialsHelper = {
    getParentTypes: () => [],
    preAuthentication: async () => undefined,
    authenticate: async (_data, _name, options) => ({
      ...options,
      headers: { ...options.headers, authorization },
    }),
  };
  const credentials = { id: '1', name: 'connector', type: 'messagingConnectorApi', data: { url, token } };
  const results = [];
  for (const parameters of calls) {
    const given = {
      id: '1',
      name: 'call',
      type: 'messagingConnector',
      typeVersion: 1,
      position: [0, 0],
      parameters,
    };
    const workflow = new Workflow({ id: '1', nodes: [given], connections: {}, active: false, nodeTypes });
    const node = workflow.getNode('call');
    const items = [{ json: {} }];
    const input = { main: [items] };
    const context = new ExecuteContext(
      ...[workflow, node, { credentialsHelper }, 'manual', { resultData: { runData: {} } }, 0, items, input],
      ...[{ node, data: input, source: null }, []],
    );
    const [output] = await new RoutingNode(context, type, credentials).runNode();
    results.push(output.map(({ json }) => json));
  }
  return { known: [...Object.keys(loader.known.nodes), ...Object.keys(loader.known.credentials)], results };
}

run(JSON.parse(process.argv[2])).then(
  (ran) => process.stdout.write(`${JSON.stringify(ran)}\n`, () => process.exit(0)),
  ({ message, description }) => process.stderr.write(`${message}: ${description}\n`, () => process.exit(1)),
);
