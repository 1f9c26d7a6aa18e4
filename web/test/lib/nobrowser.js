// Must be imported first. It provides what modules of the console read from the browser when they are loaded: English as the language,
// and an address.
for (const [name, value] of Object.entries({ navigator: { language: 'en' }, location: new URL('http://localhost/') })) {
  Object.defineProperty(globalThis, name, { value, configurable: true })
}
