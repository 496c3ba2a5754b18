/** What a CRM imports: the connector inside its own process, and the types of what it hands over. */
import './runtime/node-version/demand-node.mjs';

export {
  type ConnectorLogger,
  type StartConnectorOptions,
  type StartedConnector,
  startConnector,
} from './commands/start-connector.ts';
export {
  type ChangeHandlers,
  defineHandlers,
  type HandlerContext,
} from './connector/consumers/sinks/handler.ts';
export type { Change, ChangeType } from './contract/connector/changes.ts';
export { ConfigurationError, type ConfigurationProblem } from './runtime/config/configuration-error.ts';
