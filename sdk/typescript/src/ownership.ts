/** Warnings about sandboxes that are given up by the garbage collector alone. */

/** The ownership of a sandbox, shared with the registry of lost ones. */
export interface Ownership {
  readonly name: string;
  isOwned: boolean;
}

const lost = new FinalizationRegistry<Ownership>(({ name, isOwned }) => {
  if (isOwned) {
    const message = `the sandbox ${name} was not closed, and is removed because nothing refers to it`;
    process.emitWarning(message, { type: "ResourceWarning", detail: "use `await using` or call close()" });
  }
});

/** Emits a warning if the object is garbage before its ownership ends. */
export function watchForLoss(object: object, ownership: Ownership): void {
  if (ownership.isOwned) {
    lost.register(object, ownership);
  }
}
