"""CTranslate2: conversion of a run, and the library as a search engine."""
