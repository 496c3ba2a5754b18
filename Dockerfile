FROM node:24-slim AS page
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund

FROM node:24-slim
ENV NODE_ENV=production
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --omit=optional --ignore-scripts --no-audit --no-fund && npm cache clean --force
# The connector, its doctor and the replay; .dockerignore leaves out the service and the sandbox.
COPY src ./src
COPY drizzle ./drizzle
# The page at /docs; its package is for development, because only this folder of it is needed.
COPY --from=page /app/node_modules/swagger-ui-dist/swagger-ui-bundle.js /app/node_modules/swagger-ui-dist/swagger-ui.css ./src/swagger-ui/
# A new volume that is mounted here belongs to the user of the process, too.
RUN install -d -m 700 -o node -g node /var/lib/messaging-connector/media
USER node
EXPOSE 4020
# Node runs the TypeScript sources itself; exec form, so that SIGTERM reaches it and it drains.
CMD ["node", "src/cli/connector.ts"]
