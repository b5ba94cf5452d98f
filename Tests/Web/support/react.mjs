/**
 * As much of React as a hook needs: components are functions without elements. React, too, calls `subscribe` and an
 * effect's end without their objects, and never while it renders.
 */
let current = null;

/** Renders a component until `end()`. @returns an object whose `value` is what the component has returned last. */
export function render(component, props) {
  const view = { value: undefined, renders: 0, slots: [], isDue: false };
  const run = () => {
    [current, view.slot, view.isDue] = [view, 0, false];
    view.renders += 1;
    view.value = component(props);
    current = null;
    for (const slot of view.slots) slot.commit?.();
  };
  view.update = () => {
    if (view.isDue) return;
    view.isDue = true;
    queueMicrotask(() => view.isDue && run());
  };
  view.setProps = (next) => {
    props = next;
    run();
  };
  view.end = () => {
    view.isDue = false;
    for (const { end } of view.slots) end?.();
  };
  run();
  return view;
}

function slot() {
  const view = current;
  return [view, view.slots[view.slot++] ??= {}];
}

export function useState(initial) {
  const [view, state] = slot();
  if (!("value" in state)) state.value = initial;
  state.set ??= (value) => {
    state.value = value;
    view.update();
  };
  return [state.value, state.set];
}

export function useEffect(effect, inputs) {
  const [, state] = slot();
  if (state.inputs?.every((input, index) => Object.is(input, inputs[index]))) return state.commit = undefined;
  state.inputs = inputs;
  state.commit = () => {
    const { end } = state;
    end?.();
    state.end = effect();
    state.commit = undefined;
  };
}

export function useSyncExternalStore(subscribe, getSnapshot) {
  const [view, state] = slot();
  const shown = getSnapshot();
  if (!Object.is(shown, getSnapshot())) throw new Error("The result of getSnapshot should be cached.");
  const check = () => Object.is(state.shown, state.getSnapshot()) || view.update();
  Object.assign(state, { shown, getSnapshot });
  state.commit = () => {
    if (state.subscribe !== subscribe) {
      state.end?.();
      state.subscribe = subscribe;
      state.end = subscribe(check);
    }
    check();
  };
  return shown;
}
