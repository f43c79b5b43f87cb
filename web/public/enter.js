// Keeps the token of a browser that was let in, and goes on to the page. See docs/decisions/0009.
const { token, to } = document.currentScript.dataset;
localStorage.setItem("muniment-token", token);
location.replace(to);
