/**
 * The TypeScript SDK of msb, which runs any OCI image in a microVM.
 *
 * @packageDocumentation
 */
// The modules exist once, as CommonJS, so that `import` and `require` share classes and state.
export * from "./index.js";
