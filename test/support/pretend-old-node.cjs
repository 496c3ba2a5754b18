// Required before a program: from then on this Node says that it is 20.
Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.20.2' } });
