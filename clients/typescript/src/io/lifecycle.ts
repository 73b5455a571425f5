/** What happens to a page, or to whatever plays its part. */
export interface Lifecycle {
  /** Calls one of these when it happens, until the function that is answered is called. */
  listen(handlers: LifecycleHandlers): () => void;
}

/** What may happen. */
export interface LifecycleHandlers {
  /** The page hides, and may never come back. */
  hide(): void;
  /** It is seen again. */
  show(): void;
  /** There is a network again. */
  online(): void;
}

interface Target {
  addEventListener(type: string, listener: () => void): void;
  removeEventListener(type: string, listener: () => void): void;
}

function targetIn(name: "document" | "window"): (Target & { readonly visibilityState?: string }) | undefined {
  const found = (globalThis as unknown as { readonly [name: string]: unknown })[name];
  const isTarget = typeof found === "object" && found !== null && "addEventListener" in found;
  return isTarget ? (found as Target) : undefined;
}

/** The page's events, in a browser; undefined where there is no page. */
export function pageLifecycle(): Lifecycle | undefined {
  const [page, view] = [targetIn("document"), targetIn("window")];
  if (page === undefined || view === undefined) {
    return undefined;
  }
  return {
    listen({ hide, show, online }) {
      const turn = (): void => (page.visibilityState === "hidden" ? hide() : show());
      const listeners: [Target, string, () => void][] = [
        [page, "visibilitychange", turn],
        [view, "pagehide", hide],
        [view, "pageshow", show],
        [view, "online", online],
      ];
      for (const [target, type, listener] of listeners) {
        target.addEventListener(type, listener);
      }
      return () => {
        for (const [target, type, listener] of listeners) {
          target.removeEventListener(type, listener);
        }
      };
    },
  };
}
