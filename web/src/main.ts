import { mount } from "svelte";
import "./app.css";
import "./prose.css";
import Door from "./Door.svelte";

mount(Door, { target: document.body });
