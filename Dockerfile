FROM node:24-slim
ENV NODE_ENV=production
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --omit=optional --ignore-scripts --no-audit --no-fund && npm cache clean --force
# The connector, its doctor and the replay; .dockerignore leaves out the service and the sandbox.
COPY src ./src
COPY drizzle ./drizzle
USER node
EXPOSE 4020
# Node runs the TypeScript sources itself; exec form, so that SIGTERM reaches it and it drains.
CMD ["node", "src/cli/connector.ts"]
