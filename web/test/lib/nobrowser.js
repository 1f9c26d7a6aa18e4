// Imported first, this lets modules of the console be loaded that look at the browser when they are: an English one, at no address.
for (const [name, value] of Object.entries({ navigator: { language: 'en' }, location: new URL('http://localhost/') })) {
  Object.defineProperty(globalThis, name, { value, configurable: true })
}
